using Microsoft.Extensions.Hosting;

public sealed class RatesService : BackgroundService
{
    protected override async Task ExecuteAsync(CancellationToken stopping)
    {
        while (!stopping.IsCancellationRequested)
        {
            Console.WriteLine($"rates at {DateTimeOffset.UtcNow:O}");
            await Task.Delay(TimeSpan.FromMinutes(5), stopping);
        }
    }
}
