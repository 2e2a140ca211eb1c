import { isOauthTokenName, secrets as contract } from '@switchyard/contracts';
import { defineService, type ServiceDefinition, type StoreFile } from '@switchyard/service-kit';
import {
  pendingCallCollection,
  auditCollection,
  auditHeadCollection,
  dataKeyCollection,
  secretBindingCollection,
  rateCollection,
  secretCollection,
  retiredSecretCollection,
  tokenCollection,
} from './documents/collections.ts';
import { openAuditLog } from './audit/audit-log.ts';
import { auditBegin, auditFinish, auditLooked, auditRead } from './handlers/audit.ts';
import { envList } from './handlers/env-list.ts';
import { envSet } from './handlers/env-set.ts';
import { secretsResolve } from './handlers/secrets-resolve.ts';
import { createParamsDecryption, secretsSealingKey } from './handlers/secrets-sealing-key.ts';
import { secretsStorageKey } from './handlers/secrets-storage-key.ts';
import { secretsWebhookKeys } from './handlers/secrets-webhook-keys.ts';
import { tokensCreate } from './handlers/tokens-create.ts';
import { tokensList } from './handlers/tokens-list.ts';
import { tokensRevoke } from './handlers/tokens-revoke.ts';
import { tokensStanding } from './handlers/tokens-standing.ts';
import { tokensRotate } from './handlers/tokens-rotate.ts';
import { readDeclarations } from './tokens/token-declarations.ts';
import { declareTokens } from './tokens/declare-tokens.ts';
import { startTokenExpiry } from './tokens/expire-tokens.ts';
import { createFirstToken, type FirstToken } from './tokens/first-token.ts';
import { hasFullAccessToken } from './tokens/live-tokens.ts';
import { openTokenProjector } from './tokens/token-projector.ts';
import { watchAgentAllowlists } from './values/agent-allowlists.ts';
import { createSecretBindings } from './values/secret-bindings.ts';
import { openSecretValues } from './values/secret-values.ts';
import { createRateLimit } from './values/rate-limit.ts';

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
      const { secrets, dataKeys, secretBindings, rates, records, heads, pendingCalls, ...data } = await store.open({
        tokens: tokenCollection,
        retiredSecrets: retiredSecretCollection,
        secrets: secretCollection,
        dataKeys: dataKeyCollection,
        secretBindings: secretBindingCollection,
        rates: rateCollection,
        records: auditCollection,
        heads: auditHeadCollection,
        pendingCalls: pendingCallCollection,
      });
      const { gateway, tenantId: tenant } = settings.current;
      const origin = configuration.origin('gateway.tokens');
      await declareTokens({ ...data, store, tenant, log }, await readDeclarations({ env, entries: gateway.tokens, origin }));
      const tokenDocuments = data.tokens.for({ tenant });
      await firstToken?.(createFirstToken(tokenDocuments, store));
      if (!(await hasFullAccessToken(tokenDocuments, store.now())))
        log.warn({ tenant }, 'no token has full access; set SWITCHYARD_TOKEN and restart to create one');

      const projector = own.use(await openTokenProjector(bus, data.tokens));
      await projector.rebuild();
      own.defer(bus.onRestored(() => projector.rebuild()));
      const tokenDeps = { ...data, store, projector, tenantId: tenant };
      own.use(startTokenExpiry({ ...tokenDeps, log }));
      const { enabled: encryptionRequired } = settings.current.security.secrets;
      const requiresEncryption = (name: string): boolean => settings.current.oauth.storage === 'encrypted' && isOauthTokenName(name);
      const values = await openSecretValues({
        secrets,
        dataKeys,
        store,
        tenant,
        env,
        envFile,
        encryptionRequired,
        requiresEncryption,
        log,
      });
      const audit = own.use(
        openAuditLog({
          data: { records, heads, pendingCalls },
          store,
          log,
          auditKey: values.auditKey,
          isEncryptedElsewhere: values.isEncryptedElsewhere,
        }),
      );
      setParamsDecryption(createParamsDecryption({ values, store }));
      const allowlist = own.use(await watchAgentAllowlists(bus, log)).get;
      const documents = secretBindings.for({ tenant });
      const bindings = createSecretBindings({ documents, store, providers: () => settings.current.providers, configuration });
      const envDeps = { values, bindings, rateLimit: createRateLimit(rates, store), tenantId: tenant, store, bus };
      return {
        'tokens.list': tokensList(tokenDeps),
        'tokens.create': tokensCreate(tokenDeps),
        'tokens.revoke': tokensRevoke(tokenDeps),
        'tokens.rotate': tokensRotate(tokenDeps),
        'tokens.standing': tokensStanding(tokenDeps),
        'env.set': envSet(envDeps),
        'env.list': envList(envDeps),
        'audit.begin': auditBegin(audit),
        'audit.finish': auditFinish(audit),
        'audit.looked': auditLooked(audit),
        'audit.read': auditRead(audit),
        'secrets.resolve': secretsResolve({ values, env, allowlist, tenantId: tenant, bindings, store }),
        'secrets.sealingKey': secretsSealingKey({ values, store }),
        'secrets.storageKey': secretsStorageKey({ values }),
        'secrets.webhookKeys': secretsWebhookKeys({ values, env, bindings, settings, store }),
      };
    },
  });
}

export const secrets = defineSecrets();
