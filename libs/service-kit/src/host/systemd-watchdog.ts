import { execFile } from 'node:child_process';
import type { Sections } from '@switchyard/contracts';
import type { Logger } from '@switchyard/telemetry';
import type { Variables } from '../variables/secret-variables.ts';

/** Interval in which the setting is read again while the watchdog is off. */
const OFF_MS = 30_000;
const MICROS = 1_000;
/** systemd recommends to notify twice within its timeout. */
const SHARE = 1 / 2;

interface Given {
  env: Variables;
  settings: { readonly current: Readonly<Pick<Sections, 'daemon'>> };
  log: Pick<Logger, 'warn'>;
  tell?: Notify;
}

/** Sends one notification to systemd. */
type Notify = (word: string, onFailure: (error: Error) => void) => void;

/**
 * Notifies the systemd watchdog every `daemon.watchdogIntervalMs`, and at least twice within its timeout. systemd restarts a process
 * that stops notifying. Does nothing without `NOTIFY_SOCKET`. Node has no Unix datagram sockets, so the `systemd-notify` command sends
 * the notifications; the unit needs `NotifyAccess=all`.
 */
export function feedWatchdog({ env, settings, log, tell = systemdNotify(env) }: Given): Disposable {
  if ((env['NOTIFY_SOCKET'] ?? '') === '') return { [Symbol.dispose]: () => undefined };
  const longest = (Number(env['WATCHDOG_USEC']) / MICROS) * SHARE || Infinity;
  let failed = false;
  let timer = feed();

  function feed(): NodeJS.Timeout {
    const { watchdogIntervalMs } = settings.current.daemon;
    if (watchdogIntervalMs > 0) tell('WATCHDOG=1', warnOnce);
    return setTimeout(() => (timer = feed()), watchdogIntervalMs > 0 ? Math.min(watchdogIntervalMs, longest) : OFF_MS).unref();
  }

  function warnOnce(err: Error): void {
    if (failed) return;
    failed = true;
    log.warn({ err, errorKind: 'dependency', hint: 'is systemd-notify installed?' }, 'failed to notify the systemd watchdog');
  }

  return { [Symbol.dispose]: () => clearTimeout(timer) };
}

function systemdNotify({ PATH, NOTIFY_SOCKET }: Variables): Notify {
  return (word, onFailure) => {
    execFile('systemd-notify', [word], { env: { PATH, NOTIFY_SOCKET }, timeout: OFF_MS }, (error) => error && onFailure(error));
  };
}
