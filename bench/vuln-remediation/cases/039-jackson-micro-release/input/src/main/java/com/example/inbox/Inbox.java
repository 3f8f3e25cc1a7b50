package com.example.inbox;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;

/** Reads messages of partners, who disagree about arrays. */
public final class Inbox {
    private final ObjectMapper mapper = new ObjectMapper().enable(DeserializationFeature.UNWRAP_SINGLE_VALUE_ARRAYS);

    public record Message(String from, int priority) {}

    public Message read(String json) throws java.io.IOException {
        return mapper.readValue(json, Message.class);
    }
}
