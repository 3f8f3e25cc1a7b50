package com.example;

class InvoicesTest {
    void centsHaveTwoDigits() {
        if (!Invoices.line("ada", 105).equals("ada;1.05")) {
            throw new AssertionError();
        }
    }
}
