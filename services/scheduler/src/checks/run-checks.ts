import { createGitCheck, createSystemdCheck, createUpdateCheck } from './command-checks.ts';
import { createResourceCheck, diskCheck } from './machine-checks.ts';
import { createRunCommand } from './run-command.ts';
import type { MonitoringSettings, SystemAlert, SystemCheck } from './system-check.ts';

/** A check that takes longer is abandoned. */
const CHECK_TIMEOUT_MS = 2_000;

export interface ChecksResult {
  /** Checks that had a result. */
  checksRun: number;
  alerts: readonly SystemAlert[];
}

export interface CheckDeps {
  checks: readonly SystemCheck[];
  log: { warn(fields: object, message: string): void };
  /** Monotonic time in milliseconds. */
  now?: () => number;
  timeoutMs?: number;
}

/** Runs the enabled checks of this machine, each at most once within the time in which its result is reused. Undefined if none is enabled. */
export type RunSystemChecks = (settings: MonitoringSettings) => Promise<ChecksResult | undefined>;

/** Returns all checks. Programs are found in the search path. */
export function listSystemChecks(searchPath: string | undefined): SystemCheck[] {
  const run = createRunCommand(searchPath);
  return [diskCheck, createResourceCheck(), createSystemdCheck(run), createUpdateCheck(run), createGitCheck(run)];
}

interface CachedResult {
  at: number;
  settings: MonitoringSettings;
  alerts: Promise<readonly SystemAlert[] | undefined>;
}

export function createSystemChecks({
  checks,
  log,
  now = () => performance.now(),
  timeoutMs = CHECK_TIMEOUT_MS,
}: CheckDeps): RunSystemChecks {
  const cache = new Map<string, CachedResult>();
  /** A failure is logged when it begins. */
  const failing = new Set<string>();

  async function run(check: SystemCheck, settings: MonitoringSettings): Promise<readonly SystemAlert[] | undefined> {
    const { name } = check;
    try {
      const alerts = await withTimeout((signal) => check.run(settings, signal), timeoutMs);
      failing.delete(name);
      return alerts;
    } catch (err) {
      const hint = `the check is left out of heartbeats until it works; monitoring.${name}.enabled turns it off`;
      if (!failing.has(name)) log.warn({ err, check: name, errorKind: 'dependency', hint }, 'a system check failed');
      failing.add(name);
      return undefined;
    }
  }

  function read(check: SystemCheck, settings: MonitoringSettings): Promise<readonly SystemAlert[] | undefined> {
    const cached = cache.get(check.name);
    if (cached && cached.settings === settings && now() - cached.at < check.ttlMs) return cached.alerts;
    const alerts = run(check, settings);
    cache.set(check.name, { at: now(), settings, alerts });
    return alerts;
  }

  return async (settings) => {
    const enabled = checks.filter((check) => check.isEnabled(settings));
    if (enabled.length === 0) return undefined;
    const results = await Promise.all(enabled.map((check) => read(check, settings)));
    const finished = results.filter((alerts) => alerts !== undefined);
    return { checksRun: finished.length, alerts: finished.flat() };
  };
}

/** Rejects after the time, also if the work ignores its signal. */
async function withTimeout<T>(work: (signal: AbortSignal) => Promise<T>, timeoutMs: number): Promise<T> {
  const signal = AbortSignal.timeout(timeoutMs);
  const { promise: expired, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(new Error(`no result within ${timeoutMs} ms`));
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work(signal), expired]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
