package com.example;

import java.nio.file.Files;
import java.nio.file.Path;

public final class Invoices {
    static String line(String customer, int cents) {
        return "%s;%d.%02d".formatted(customer, cents / 100, cents % 100);
    }

    public static void main(String[] args) throws Exception {
        Files.writeString(Path.of("reports", "latest.csv"), line("ada", 1999));
    }
}
