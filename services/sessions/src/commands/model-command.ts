import type { CatalogueEntry, Models } from '@switchyard/models';
import { preferring, type Answer, type Asked } from './command-context.ts';

const USAGE = '/model list, /model switch <provider> <id>, or /model cycle.';
const MOST_LISTED = 100;

/** Lists the available models or selects the model of this session. The agent's own model does not change. */
export async function chooseModel(asked: Asked): Promise<Answer> {
  const [verb = '', ...words] = asked.args.split(/\s+/);
  if (verb === 'list') return list(asked);
  if (verb === 'switch' && words.length > 0) return change(asked, words.join('/'));
  if (verb === 'cycle') return cycle(asked);
  return { text: USAGE };
}

async function list({ deps, model }: Asked): Promise<Answer> {
  const names = (await answering(deps.models)).map(nameOf);
  const lines = names.slice(0, MOST_LISTED).map((name) => (name === nameOf(model) ? `* ${name}` : `  ${name}`));
  const more = names.length > MOST_LISTED ? [`and ${names.length - MOST_LISTED} more`] : [];
  return { text: [...lines, ...more].join('\n') };
}

async function change(asked: Asked, name: string): Promise<Answer> {
  const found = await asked.deps.models.find(name);
  if (!found) return { text: `There is no model ${name} here. ${USAGE}` };
  return { text: `${nameOf(found)} answers here from now on.`, effect: { preferences: preferring(asked, { model: nameOf(found) }) } };
}

async function cycle(asked: Asked): Promise<Answer> {
  const names = (await answering(asked.deps.models)).map(nameOf);
  const next = names[(names.indexOf(nameOf(asked.model)) + 1) % names.length];
  return next === undefined ? { text: USAGE } : change(asked, next);
}

/** Returns the catalog entries of the currently available providers. */
async function answering(models: Models): Promise<CatalogueEntry[]> {
  const providers = await models.providers();
  return (await models.catalogue()).filter(({ provider }) => providers.includes(provider));
}

function nameOf({ provider, modelId }: { provider: string; modelId: string }): string {
  return `${provider}/${modelId}`;
}
