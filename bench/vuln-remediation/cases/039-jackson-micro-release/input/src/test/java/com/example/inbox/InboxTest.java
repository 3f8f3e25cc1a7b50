package com.example.inbox;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class InboxTest {
    @Test
    void aSingleValueMayBeInAnArray() throws Exception {
        assertEquals(3, new Inbox().read("{\"from\":\"a\",\"priority\":[3]}").priority());
    }
}
