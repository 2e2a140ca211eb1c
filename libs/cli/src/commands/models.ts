import { Failure } from '../output/failure.ts';
import { textOf } from '../arguments/flags.ts';
import { group, type Given } from '../arguments/command-group.ts';
import { print, printAs, remark, table } from '../output/output.ts';
import { self } from '../server/installation.ts';

export const models = group({
  name: 'models',
  about: 'Shows which models there are and what they cost, tries one, and gives one to an agent.',
  otherwise: 'list',
  verbs: {
    list: { takes: '[provider]', about: 'the catalogue, with prices in US dollars a million tokens', names: ['providers'], run: list },
    providers: { about: 'who there is', run: providers },
    test: { takes: '<model>', about: 'asks one for a tiny answer; 1 if there is none', flags: ['provider'], run: test },
    set: {
      takes: '<agent> <model>',
      about: 'gives a model to an agent, from its next turn on',
      names: ['agents', []],
      flags: ['provider'],
      run: set,
    },
  },
  flags: { provider: { value: 'name', about: 'test, set: whose model it is', names: 'providers' } },
  examples: ['models list openai', 'models test openai/gpt-5', 'models set default gpt-5 --provider openai'],
});

async function list({ call, output }: Given, provider?: string): Promise<void> {
  const found = await call('models.list', provider === undefined ? {} : { provider });
  if (output !== 'table') return printAs(output, found);
  if (found.length === 0) return remark('There is no model of that provider.');
  const lines = found.map(({ provider: of, modelId, contextWindow, maxTokens, cost, validatedAt, displayName }) => [
    of,
    modelId,
    thousands(contextWindow),
    thousands(maxTokens),
    String(cost.input),
    String(cost.output),
    validatedAt === null ? '' : new Date(validatedAt).toISOString().slice(0, 10),
    displayName,
  ]);
  print(table(['PROVIDER', 'MODEL', 'WINDOW', 'ANSWER', '$ IN', '$ OUT', 'TESTED', 'NAME'], lines));
}

function thousands(tokens: number): string {
  return tokens < 10_000 ? String(tokens) : `${Math.round(tokens / 1_000)}k`;
}

async function providers({ call, output }: Given): Promise<void> {
  const answer = await call('models.list_providers', {});
  if (output !== 'table') printAs(output, answer);
  else print(answer.providers.map((name) => `${name}\n`).join(''));
}

async function test({ call, flags, output }: Given, model: string): Promise<void> {
  const answer = await call('models.test', { model, ...textOf(flags, 'provider', 'provider') });
  const { ok, latencyMs, provider, error = 'it did not answer' } = answer;
  if (output !== 'table') printAs(output, answer);
  else if (ok) print(`${model} of ${provider} answers, in ${Math.round(latencyMs)} ms\n`);
  if (!ok) throw new Failure(`${model} of ${provider} does not answer: ${error}.`, `${self()} models list ${provider}`);
}

async function set({ call, flags, output }: Given, agentId: string, model: string): Promise<void> {
  const answer = await call('agents.update', { agentId, model, ...textOf(flags, 'provider', 'provider') });
  if (output !== 'table') printAs(output, answer);
  else print(`${agentId} asks ${model}, from its next turn on\n`);
}
