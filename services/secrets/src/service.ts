import { isOauthTokenName, secrets as contract } from '@switchyard/contracts';
import { defineService, type ServiceDefinition, type StoreFile } from '@switchyard/service-kit';
import {
  auditBegunCollection,
  auditCollection,
  auditHeadCollection,
  dataKeyCollection,
  keyOriginCollection,
  rateCollection,
  secretCollection,
  spentCollection,
  tokenCollection,
} from './documents/collections.ts';
import { openAudit } from './audit/audit-log.ts';
import { auditBegin, auditFinish, auditLooked, auditRead } from './handlers/audit.ts';
import { envList } from './handlers/env-list.ts';
import { envSet } from './handlers/env-set.ts';
import { secretsResolve } from './handlers/secrets-resolve.ts';
import { createParamsDecryption, secretsSealingKey } from './handlers/secrets-sealing-key.ts';
import { secretsWebhookKeys } from './handlers/secrets-webhook-keys.ts';
import { tokensCreate } from './handlers/tokens-create.ts';
import { tokensList } from './handlers/tokens-list.ts';
import { tokensRevoke } from './handlers/tokens-revoke.ts';
import { tokensRotate } from './handlers/tokens-rotate.ts';
import { readDeclarations } from './tokens/token-declarations.ts';
import { declareTokens } from './tokens/declare-tokens.ts';
import { endExpired } from './tokens/expire-tokens.ts';
import { createFirstToken, type FirstToken } from './tokens/first-token.ts';
import { anyGrantsEverything } from './tokens/live-tokens.ts';
import { openProjector } from './tokens/token-projector.ts';
import { watchAllowed } from './values/agent-allowlists.ts';
import { createKeyOrigins } from './values/key-origins.ts';
import { openValues } from './values/secret-values.ts';
import { createRate } from './values/rate-limit.ts';

/** Default of `security.secrets.dbPath`; it selects the store of the installation. */
const DEFAULT_DB_PATH = 'secrets.db';

function resolveStoreFile(path: string): StoreFile | undefined {
  return path === DEFAULT_DB_PATH ? undefined : { setting: 'security.secrets.dbPath', path };
}

export interface SecretsOptions {
  /** Called once at startup, after the declared tokens are stored and before the service answers calls. */
  firstToken?: (tokens: FirstToken) => Promise<void>;
  /** File for secrets without a master key, for an installation in one process. Otherwise storing secrets needs a master key. */
  envFile?: string;
}

/** Owns bearer tokens, secret values and the audit log. */
export function defineSecrets({ firstToken, envFile }: SecretsOptions = {}): ServiceDefinition<
  typeof contract,
  'gateway' | 'tenantId' | 'providers' | 'webhooks' | 'security' | 'oauth'
> {
  return defineService({
    contract,
    version: '0.1.0',
    settings: ['gateway', 'tenantId', 'providers', 'webhooks', 'security', 'oauth'],
    storeFile: ({ security }) => resolveStoreFile(security.secrets.dbPath),

    async setup({ settings, store, bus, own, env, log, configuration, setParamsDecryption }) {
      const { secrets, dataKeys, keyOrigins, rates, records, heads, begun, ...data } = await store.open({
        tokens: tokenCollection,
        spent: spentCollection,
        secrets: secretCollection,
        dataKeys: dataKeyCollection,
        keyOrigins: keyOriginCollection,
        rates: rateCollection,
        records: auditCollection,
        heads: auditHeadCollection,
        begun: auditBegunCollection,
      });
      const { gateway, tenantId: tenant } = settings.current;
      const origin = configuration.origin('gateway.tokens');
      await declareTokens({ ...data, store, tenant, log }, await readDeclarations({ env, entries: gateway.tokens, origin }));
      const mine = data.tokens.for({ tenant });
      await firstToken?.(createFirstToken(mine, store));
      if (!(await anyGrantsEverything(mine, store.now())))
        log.warn({ tenant }, 'no token has full access; set SWITCHYARD_TOKEN and restart to create one');

      const projector = own.use(await openProjector(bus, data.tokens));
      await projector.rebuild();
      own.defer(bus.onRestored(() => projector.rebuild()));
      const given = { ...data, store, projector, tenantId: tenant };
      own.use(endExpired({ ...given, log }));
      const { enabled: demanded } = settings.current.security.secrets;
      const mustBeSealed = (name: string): boolean => settings.current.oauth.storage === 'encrypted' && isOauthTokenName(name);
      const values = await openValues({ secrets, dataKeys, store, tenant, env, envFile, demanded, mustBeSealed, log });
      const audit = own.use(
        openAudit({ data: { records, heads, begun }, store, log, seal: values.auditSeal, sealedElsewhere: values.sealedElsewhere }),
      );
      setParamsDecryption(createParamsDecryption({ values, store }));
      const allowed = own.use(await watchAllowed(bus, log)).of;
      const documents = keyOrigins.for({ tenant });
      const origins = createKeyOrigins({ documents, store, providers: () => settings.current.providers, configuration });
      const kept = { values, origins, rate: createRate(rates, store), tenantId: tenant, store, bus };
      return {
        'tokens.list': tokensList(given),
        'tokens.create': tokensCreate(given),
        'tokens.revoke': tokensRevoke(given),
        'tokens.rotate': tokensRotate(given),
        'env.set': envSet(kept),
        'env.list': envList(kept),
        'audit.begin': auditBegin(audit),
        'audit.finish': auditFinish(audit),
        'audit.looked': auditLooked(audit),
        'audit.read': auditRead(audit),
        'secrets.resolve': secretsResolve({ values, env, allowed, origins, store }),
        'secrets.sealingKey': secretsSealingKey({ values, store }),
        'secrets.webhookKeys': secretsWebhookKeys({ values, env, settings, store }),
      };
    },
  });
}

export const secrets = defineSecrets();
