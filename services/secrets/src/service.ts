import { secrets as contract } from '@switchyard/contracts';
import { defineService, type ServiceDefinition } from '@switchyard/service-kit';
import { spentCollection, tokenCollection } from './data.ts';
import { secretsResolve } from './handlers/secrets-resolve.ts';
import { tokensCreate } from './handlers/tokens-create.ts';
import { tokensList } from './handlers/tokens-list.ts';
import { tokensRevoke } from './handlers/tokens-revoke.ts';
import { tokensRotate } from './handlers/tokens-rotate.ts';
import { readDeclarations } from './tokens/declarations.ts';
import { declareTokens } from './tokens/declare.ts';
import { createFirstToken, type FirstToken } from './tokens/first-token.ts';
import { anyGrantsEverything } from './tokens/live-tokens.ts';
import { openProjector } from './tokens/projection.ts';

export interface SecretsOptions {
  /** Called once at the start, when the declared tokens are there and before anybody is let in. */
  firstToken?: (tokens: FirstToken) => Promise<void>;
}

/** Owns bearer tokens and the values of secrets. */
export function defineSecrets({ firstToken }: SecretsOptions = {}): ServiceDefinition<typeof contract, 'gateway' | 'tenantId'> {
  return defineService({
    contract,
    version: '0.1.0',
    settings: ['gateway', 'tenantId'],

    async setup({ settings, store, bus, own, env, log, configuration }) {
      const data = await store.open({ tokens: tokenCollection, spent: spentCollection });
      const { gateway, tenantId: tenant } = settings.current;
      const origin = configuration.origin('gateway.tokens');
      await declareTokens({ ...data, store, tenant, log }, await readDeclarations({ env, entries: gateway.tokens, origin }));
      const mine = data.tokens.for({ tenant });
      await firstToken?.(createFirstToken(mine, store));
      if (!(await anyGrantsEverything(mine)))
        log.warn({ tenant }, 'no token may do everything; a start with SWITCHYARD_TOKEN set makes one');

      const projector = await openProjector(bus, data.tokens);
      await projector.rebuild();
      own.defer(bus.onRestored(() => projector.rebuild()));
      const given = { ...data, store, projector };
      return {
        'tokens.list': tokensList(data),
        'tokens.create': tokensCreate(given),
        'tokens.revoke': tokensRevoke(given),
        'tokens.rotate': tokensRotate(given),
        'secrets.resolve': secretsResolve(env),
      };
    },
  });
}

export const secrets = defineSecrets();
