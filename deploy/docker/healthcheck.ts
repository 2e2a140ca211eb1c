// Exits with 0 when the process of this container is ready, else with 1: node deploy/docker/healthcheck.ts
const PATIENCE_MS = 3_000;
const port = process.env['SWITCHYARD_METRICS_PORT'] ?? '';

try {
  const response = await fetch(`http://127.0.0.1:${port}/readyz`, { signal: AbortSignal.timeout(PATIENCE_MS) });
  process.stdout.write(await response.text());
  process.exitCode = response.ok ? 0 : 1;
} catch (error) {
  process.stdout.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
