import { Failure } from '../output/failure.ts';
import { getText } from '../arguments/flags.ts';
import { group, type CommandContext } from '../arguments/command-group.ts';
import { print, printAs, remark, table } from '../output/output.ts';
import { self } from '../server/installation.ts';

export const models = group({
  name: 'models',
  about: 'Lists models with their prices, tests one, and assigns one to an agent.',
  otherwise: 'list',
  verbs: {
    list: { takes: '[provider]', about: 'lists the models, with prices in US dollars per million tokens', names: ['providers'], run: list },
    providers: { about: 'lists the providers', run: providers },
    test: { takes: '<model>', about: 'requests a one-word answer; exit code 1 if there is none', flags: ['provider'], run: test },
    set: {
      takes: '<agent> <model>',
      about: 'assigns a model to an agent, from its next turn on',
      names: ['agents', []],
      flags: ['provider'],
      run: set,
    },
  },
  flags: { provider: { value: 'name', about: 'test, set: provider of the model', names: 'providers' } },
  examples: ['models list openai', 'models test openai/gpt-5', 'models set default gpt-5 --provider openai'],
});

async function list({ call, output }: CommandContext, provider?: string): Promise<void> {
  const matches = await call('models.list', provider === undefined ? {} : { provider });
  if (output !== 'table') return printAs(output, matches);
  if (matches.length === 0) return remark('This provider has no models.');
  const lines = matches.map(({ provider: of, modelId, contextWindow, maxTokens, cost, validatedAt, displayName }) => [
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

async function providers({ call, output }: CommandContext): Promise<void> {
  const answer = await call('models.list_providers', {});
  if (output !== 'table') printAs(output, answer);
  else print(answer.providers.map((name) => `${name}\n`).join(''));
}

async function test({ call, flags, output }: CommandContext, model: string): Promise<void> {
  const answer = await call('models.test', { model, ...getText(flags, 'provider', 'provider') });
  const { ok, latencyMs, provider, error = 'it returned no answer' } = answer;
  if (output !== 'table') printAs(output, answer);
  else if (ok) print(`${model} of ${provider} answers, in ${Math.round(latencyMs)} ms\n`);
  if (!ok) throw new Failure(`${model} of ${provider} does not answer: ${error}.`, `${self()} models list ${provider}`);
}

async function set({ call, flags, output }: CommandContext, agentId: string, model: string): Promise<void> {
  const answer = await call('agents.update', { agentId, model, ...getText(flags, 'provider', 'provider') });
  if (output !== 'table') printAs(output, answer);
  else print(`Agent ${agentId} uses ${model} from its next turn on.\n`);
}
