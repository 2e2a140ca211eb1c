import { bundledDashboard } from './bundled-dashboard.ts';
import type { Settings } from '@switchyard/service-kit';
import type { Logger } from '@switchyard/telemetry';
import { readDashboard, type Dashboard } from './dashboard-files.ts';

interface FollowDashboardOptions {
  settings: Settings<'gateway'>;
  log: Pick<Logger, 'error' | 'info'>;
  /** Whether the directory was set before the start. An unreadable one then fails the start. */
  isDeclared: () => boolean;
  /** The directory of the bundled dashboard. */
  bundled?: string | undefined;
}

/** The dashboard of the current settings. */
export interface FollowedDashboard extends Disposable {
  readonly current: Dashboard | undefined;
  /** Whether `current` is the bundled dashboard, which works under the strict content policy. */
  readonly isBundled: boolean;
  /** Whether the bundled dashboard is being built. */
  readonly isBuilding: boolean;
}

/**
 * Reads the dashboard at the start and when its settings change. An unreadable directory that was set at run time is logged and does not
 * stop the gateway, now or at the next start. The previous dashboard stays in use, if there is one.
 */
export function followDashboard({ settings, log, isDeclared, bundled }: FollowDashboardOptions): FollowedDashboard {
  const ownDashboard = bundledDashboard(bundled, log);
  let directory = getDirectory(settings);
  let dashboard = directory === undefined ? undefined : isDeclared() ? readDashboard(directory) : readOrKeep(undefined, directory);

  function readOrKeep(fallback: Dashboard | undefined, path: string): Dashboard | undefined {
    try {
      return readDashboard(path);
    } catch (err) {
      log.error(
        { err, errorKind: 'config', hint: 'set gateway.web.path to a directory with an index.html, or unset it' },
        'failed to read the dashboard',
      );
      return fallback;
    }
  }

  const unsubscribe = settings.onChange(() => {
    const next = getDirectory(settings);
    if (next === directory) return;
    directory = next;
    dashboard = next === undefined ? undefined : readOrKeep(dashboard, next);
    log.info({ directory: next }, 'the dashboard directory changed');
  });
  return {
    get current() {
      if (dashboard !== undefined) return dashboard;
      return this.isBundled ? ownDashboard.read() : undefined;
    },
    get isBundled() {
      return directory === undefined && settings.current.gateway.web.enabled;
    },
    get isBuilding() {
      return this.isBundled && ownDashboard.isBuilding();
    },
    [Symbol.dispose]: unsubscribe,
  };
}

function getDirectory({ current }: Settings<'gateway'>): string | undefined {
  const { enabled, path } = current.gateway.web;
  return enabled ? path : undefined;
}
