#include <string>

std::string text(100, 'x');
