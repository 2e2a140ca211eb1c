import type { CatalogueEntry, Models } from '@switchyard/models';
import { preferring, type Answer, type CommandRequest } from './command-context.ts';

const USAGE = '/model list, /model switch <provider> <id>, or /model cycle.';
const MAX_LISTED = 100;

/** Lists the available models or selects the model of this session. The agent's own model does not change. */
export async function chooseModel(request: CommandRequest): Promise<Answer> {
  const [verb = '', ...words] = request.args.split(/\s+/);
  if (verb === 'list') return list(request);
  if (verb === 'switch' && words.length > 0) return change(request, words.join('/'));
  if (verb === 'cycle') return cycle(request);
  return { text: USAGE };
}

async function list({ deps, model }: CommandRequest): Promise<Answer> {
  const names = (await listAvailableModels(deps.models)).map(getName);
  const lines = names.slice(0, MAX_LISTED).map((name) => (name === getName(model) ? `* ${name}` : `  ${name}`));
  const more = names.length > MAX_LISTED ? [`and ${names.length - MAX_LISTED} more`] : [];
  return { text: [...lines, ...more].join('\n') };
}

async function change(command: CommandRequest, name: string): Promise<Answer> {
  const found = await command.deps.models.find(name);
  if (!found) return { text: `Unknown model ${name}. ${USAGE}` };
  return { text: `This session now uses ${getName(found)}.`, effect: { preferences: preferring(command, { model: getName(found) }) } };
}

async function cycle(command: CommandRequest): Promise<Answer> {
  const names = (await listAvailableModels(command.deps.models)).map(getName);
  const next = names[(names.indexOf(getName(command.model)) + 1) % names.length];
  return next === undefined ? { text: USAGE } : change(command, next);
}

/** Returns the catalog entries of the currently available providers. */
async function listAvailableModels(models: Models): Promise<CatalogueEntry[]> {
  const providers = await models.providers();
  return (await models.catalogue()).filter(({ provider }) => providers.includes(provider));
}

function getName({ provider, modelId }: { provider: string; modelId: string }): string {
  return `${provider}/${modelId}`;
}
