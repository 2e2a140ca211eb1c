import type { Handler } from '@switchyard/bus';
import { OBJECT_SECTIONS } from '@switchyard/contracts';
import type { ConfigurationSource, Origin, Tree } from '@switchyard/service-kit';
import { shownConfig } from '../../config/redact-config.ts';
import { leaves } from '../../config/config-changes.ts';
import { sectionNamed } from '../../config/find-section.ts';
import { requireOperator, type ConfigGiven } from '../../config/write-config.ts';

export function configRead({ versions, configuration }: ConfigGiven): Handler<'config.read'> {
  return async ({ section, origins = false }, ctx) => {
    requireOperator(ctx, configuration);
    const name = section === undefined ? undefined : sectionNamed(section);
    const { layer } = await versions.head();
    const shown = shownConfig(configuration.written(layer));
    if (name === undefined)
      return { config: shown, sections: [...OBJECT_SECTIONS], ...(origins ? originsOf(configuration, shown, layer) : {}) };
    if (!origins) return shown[name] as Tree;
    const config = { [name]: shown[name] };
    return { config, sections: [name], ...originsOf(configuration, config, layer) };
  };
}

function originsOf(configuration: Pick<ConfigurationSource, 'origin'>, config: Tree, layer: Tree) {
  const entries = [...leaves(config)].map(({ path }) => {
    const key = path.join('.');
    return [key, described(configuration.origin(key, layer))] as const;
  });
  return { origins: Object.fromEntries(entries) };
}

function described(origin: Origin) {
  if (origin.layer === 'file') return { layer: origin.layer, from: origin.file };
  if (origin.layer === 'environment') return { layer: origin.layer, from: origin.variable };
  return { layer: origin.layer };
}
