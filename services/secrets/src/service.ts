import { Scope, secrets as contract } from '@switchyard/contracts';
import { defineService, readSecret } from '@switchyard/service-kit';
import { tokenCollection } from './data.ts';
import { secretsResolve } from './handlers/secrets-resolve.ts';
import { tokensCreate } from './handlers/tokens-create.ts';
import { tokensList } from './handlers/tokens-list.ts';
import { tokensRevoke } from './handlers/tokens-revoke.ts';
import { tokensRotate } from './handlers/tokens-rotate.ts';
import { ENVIRONMENT_TOKEN, storeConfigured, type ConfiguredToken } from './tokens/configured.ts';
import { openProjector } from './tokens/projection.ts';

/** Owns bearer tokens and the values of secrets. */
export const secrets = defineService({
  contract,
  version: '0.1.0',
  settings: ['gateway'],

  async setup({ settings, store, bus, own, env }) {
    const { tokens } = await store.open({ tokens: tokenCollection });
    await storeConfigured(
      tokens,
      [...(await fromEnvironment(env)), ...(await fromConfiguration(env, settings.current.gateway.tokens))],
      store.now(),
    );
    const projector = await openProjector(bus, tokens);
    await projector.rebuild();
    own.defer(bus.onRestored(() => projector.rebuild()));
    return {
      'tokens.list': tokensList(tokens),
      'tokens.create': tokensCreate(tokens, store, projector),
      'tokens.revoke': tokensRevoke(tokens, projector),
      'tokens.rotate': tokensRotate(tokens, store, projector),
      'secrets.resolve': secretsResolve(env),
    };
  },
});

type Environment = Readonly<Record<string, string | undefined>>;

async function fromEnvironment(env: Environment): Promise<ConfiguredToken[]> {
  const secret = await readSecret(env, 'SWITCHYARD_TOKEN');
  return secret === undefined ? [] : [{ id: ENVIRONMENT_TOKEN, secret, scopes: ['*'] }];
}

interface Entry {
  id: string;
  secret?: string | { source: string; id: string } | undefined;
  scopes: string[];
}

/** `gateway.tokens[]`: the secret stands beside the id, or in the environment under the name it refers to. */
async function fromConfiguration(env: Environment, entries: readonly Entry[]): Promise<ConfiguredToken[]> {
  return Promise.all(
    entries.map(async ({ id, secret, scopes }) => ({
      id,
      secret: await secretOf(env, id, secret),
      scopes: scopes.map((scope) => Scope.parse(scope)),
    })),
  );
}

async function secretOf(env: Environment, id: string, secret: Entry['secret']): Promise<string> {
  if (typeof secret === 'string') return secret;
  const value = secret?.source === 'env' ? await readSecret(env, secret.id) : undefined;
  if (value === undefined) throw new Error(`gateway.tokens: the token "${id}" has no secret; write one, or name a variable that holds it.`);
  return value;
}
