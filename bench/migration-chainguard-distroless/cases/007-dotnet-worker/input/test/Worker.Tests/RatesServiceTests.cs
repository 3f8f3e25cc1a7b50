using Xunit;

public class RatesServiceTests
{
    [Fact]
    public void CanBeMade() => Assert.NotNull(new RatesService());
}
