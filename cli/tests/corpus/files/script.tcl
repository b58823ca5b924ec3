puts [expr {1 + 1}]
