char table[2048];
