import type { Handler } from '@switchyard/bus';
import { SECTION_NAMES } from '@switchyard/contracts';
import type { ConfigurationSource } from '@switchyard/service-kit';

export function gatewayStatus(configuration: Pick<ConfigurationSource, 'files'>): Handler<'gateway.status'> {
  return () => ({
    pid: process.pid,
    uptime: process.uptime(),
    memoryUsage: process.memoryUsage.rss(),
    nodeVersion: process.version,
    configPaths: [...configuration.files()],
    sections: [...SECTION_NAMES],
  });
}
