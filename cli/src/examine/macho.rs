//! Mach-O: what dyld and the kernel of macOS will refuse, told from the file alone.
