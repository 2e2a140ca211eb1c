import type { Handler } from '@switchyard/bus';
import type { Tree } from '@switchyard/service-kit';
import { redactConfig } from '../../config/redact-config.ts';
import { findSection } from '../../config/find-section.ts';
import { requireOperator, type ConfigDeps } from '../../config/write-config.ts';

/** Returns a section with its secrets and logs the read. `${NAME}` references are returned as written. */
export function configGet({ versions, configuration }: ConfigDeps): Handler<'config.get'> {
  return async ({ section }, ctx) => {
    requireOperator(ctx, configuration);
    const name = section === undefined ? undefined : findSection(section);
    const written = configuration.written((await versions.head()).layer);
    if (name === undefined) return redactConfig(written);
    const { client, tenant } = ctx.principal;
    ctx.log.audit({ client, tenant, section: name }, 'a configuration section was read with its secrets');
    return written[name] as Tree;
  };
}
