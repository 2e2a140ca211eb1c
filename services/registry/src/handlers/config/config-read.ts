import type { Handler } from '@switchyard/bus';
import { OBJECT_SECTIONS } from '@switchyard/contracts';
import type { ConfigurationSource, Origin, Tree } from '@switchyard/service-kit';
import { redactConfig } from '../../config/redact-config.ts';
import { iterateLeaves } from '../../config/config-changes.ts';
import { findSection } from '../../config/find-section.ts';
import { requireOperator, type ConfigDeps } from '../../config/write-config.ts';

export function configRead({ versions, configuration }: ConfigDeps): Handler<'config.read'> {
  return async ({ section, origins = false }, ctx) => {
    requireOperator(ctx, configuration);
    const name = section === undefined ? undefined : findSection(section);
    const { layer } = await versions.head();
    const shown = redactConfig(configuration.written(layer));
    if (name === undefined)
      return { config: shown, sections: [...OBJECT_SECTIONS], ...(origins ? listOrigins(configuration, shown, layer) : {}) };
    if (!origins) return shown[name] as Tree;
    const config = { [name]: shown[name] };
    return { config, sections: [name], ...listOrigins(configuration, config, layer) };
  };
}

function listOrigins(configuration: Pick<ConfigurationSource, 'origin'>, config: Tree, layer: Tree) {
  const entries = [...iterateLeaves(config)].map(({ path }) => {
    const key = path.join('.');
    return [key, describeOrigin(configuration.origin(key, layer))] as const;
  });
  return { origins: Object.fromEntries(entries) };
}

function describeOrigin(origin: Origin) {
  if (origin.layer === 'file') return { layer: origin.layer, from: origin.file };
  if (origin.layer === 'environment') return { layer: origin.layer, from: origin.variable };
  return { layer: origin.layer };
}
