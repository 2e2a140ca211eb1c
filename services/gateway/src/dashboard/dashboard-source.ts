import type { Settings } from '@switchyard/service-kit';
import type { Logger } from '@switchyard/telemetry';
import { readDashboard, type Dashboard } from './dashboard-files.ts';

interface Given {
  settings: Settings<'gateway'>;
  log: Pick<Logger, 'error' | 'info'>;
  /** Whether it was named before the start: then one that cannot be read is for whoever starts. */
  declared: boolean;
}

/** The dashboard that the settings name. */
export interface FollowedDashboard extends Disposable {
  readonly current: Dashboard | undefined;
}

/**
 * Reads it at the start, and again when the settings name another or turn it off. One that was named while everything ran and cannot
 * be read takes nothing down, now or at the next start: the one before stays, or there is none, and the log says why.
 */
export function followDashboard({ settings, log, declared }: Given): FollowedDashboard {
  let named = directoryIn(settings);
  let dashboard = named === undefined ? undefined : declared ? readDashboard(named) : readOr(undefined, named);

  function readOr(otherwise: Dashboard | undefined, directory: string): Dashboard | undefined {
    try {
      return readDashboard(directory);
    } catch (err) {
      log.error({ err, errorKind: 'config', hint: 'name a directory with an index.html, or none' }, 'the dashboard cannot be read');
      return otherwise;
    }
  }

  const forget = settings.onChange(() => {
    const next = directoryIn(settings);
    if (next === named) return;
    named = next;
    dashboard = next === undefined ? undefined : readOr(dashboard, next);
    log.info({ directory: next }, 'another dashboard is named');
  });
  return {
    get current() {
      return dashboard;
    },
    [Symbol.dispose]: forget,
  };
}

function directoryIn({ current }: Settings<'gateway'>): string | undefined {
  const { enabled, path } = current.gateway.web;
  return enabled ? path : undefined;
}
