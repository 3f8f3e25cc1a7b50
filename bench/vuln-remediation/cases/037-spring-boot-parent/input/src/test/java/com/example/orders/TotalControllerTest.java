package com.example.orders;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.math.BigDecimal;
import java.util.List;
import org.junit.jupiter.api.Test;

class TotalControllerTest {
    @Test
    void amountsAreAdded() {
        assertEquals(new BigDecimal("3.50"), TotalController.sum(List.of(new BigDecimal("1.25"), new BigDecimal("2.25"))));
    }

    @Test
    void nothingIsZero() {
        assertEquals(BigDecimal.ZERO, TotalController.sum(List.of()));
    }
}
