import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '@switchyard/telemetry';
import { readDashboard, type Dashboard } from './dashboard-files.ts';

/** Time between two checks for the output of a build. */
const CHECK_INTERVAL_MS = 500;
/** Exists beside the output while a build runs. */
const BUILDING_SUFFIX = '.building';

/** The dashboard of this version. It may be built after the gateway has started. */
export interface BundledDashboard {
  /** Returns the dashboard, or undefined while it is not built. */
  read(): Dashboard | undefined;
  isBuilding(): boolean;
}

/** Reads the output of the build on the first request after it exists. The build renames its complete output into place. */
export function bundledDashboard(directory: string | undefined, log: Pick<Logger, 'error'>): BundledDashboard {
  const path = directory?.replace(/\/$/, '');
  let dashboard: Dashboard | undefined;
  let checkedAt = Number.NEGATIVE_INFINITY;
  return {
    read() {
      if (dashboard !== undefined || path === undefined || performance.now() - checkedAt < CHECK_INTERVAL_MS) return dashboard;
      checkedAt = performance.now();
      if (!existsSync(join(path, 'index.html'))) return undefined;
      try {
        dashboard = readDashboard(path);
      } catch (err) {
        log.error({ err, errorKind: 'config', hint: 'run make dashboard' }, 'failed to read the bundled dashboard');
      }
      return dashboard;
    },
    isBuilding: () => path !== undefined && existsSync(path + BUILDING_SUFFIX),
  };
}
