import { inputSchema, isUnread, publicMethods, type JsonSchema, type MethodSpec } from '@switchyard/contracts';
import { listSettings } from '../../settings/list-settings.ts';
import { isServed } from './implemented.ts';

export type Kind = 'secret' | 'session' | 'path' | 'address';

/** Field names that usually name a secret, a session, a path or an address. */
const NAMING =
  /(secret|token|apikey|keyname|sessionkey|url|uri|path|dir|origin|host|address|file)s?$|^(key|session|sessions|sessionid|conversation_?id)$|profiles$|_key$|^secrets\.allow$/i;

/** Methods whose params are settings. */
const SETTING_METHODS = /^(config\.|agents\.(create|update)$)/;

/** What each setting with such a name refers to. `none` refers to nothing outside the setting. */
export const SETTING_KINDS: Readonly<Record<string, Kind | 'none'>> = {
  dataDir: 'path',
  'agents.*.oauthProfiles': 'secret',
  'agents.*.modelFailover.authProfiles.*.keyName': 'secret',
  'agents.*.secrets.allow': 'secret',
  'agents.*.scheduler.heartbeat.session': 'session',
  'memory.dbPath': 'path',
  'monitoring.disk.paths': 'path',
  'security.permission.allowedFsPaths': 'path',
  'security.permission.allowedNetHosts': 'address',
  'security.egress.allowHosts': 'address',
  'security.secrets.dbPath': 'path',
  'daemon.logging.filePath': 'path',
  'daemon.configWebhook.url': 'address',
  'daemon.configWebhook.secret': 'secret',
  'gateway.host': 'address',
  'gateway.publicUrl': 'address',
  'gateway.tls.certPath': 'path',
  'gateway.tls.keyPath': 'path',
  'gateway.tls.caPath': 'path',
  'gateway.tokens.*.secret': 'secret',
  'gateway.tokens.*.sessions': 'none',
  'gateway.web.path': 'path',
  'gateway.corsOrigins': 'address',
  'embedding.local.modelUri': 'address',
  'embedding.local.modelsDir': 'path',
  'providers.entries.*.baseUrl': 'address',
  'providers.entries.*.apiKeyName': 'secret',
  'webhooks.path': 'none',
  'webhooks.token': 'secret',
  'webhooks.mappings.*.match.path': 'none',
  'webhooks.mappings.*.sessionKey': 'session',
  'webhooks.mappings.*.secret': 'secret',
  'webhooks.hmac.secret': 'secret',
  'browser.chromePath': 'path',
  'documentation.localDocsPath': 'path',
  'documentation.publicDocsUrl': 'address',
  'documentation.sourceUrl': 'address',
  'documentation.communityUrl': 'address',
  'documentation.skillsMarketplaceUrl': 'address',
  'documentation.mcpRegistryUrl': 'address',
  'documentation.customLinks.*.url': 'address',
};

/** What each param with such a name refers to. */
export const PARAM_KINDS: Readonly<Record<string, Kind | 'none'>> = {
  'admin.approval.resolveAll sessionKey': 'session',
  'agent.cancel sessionKey': 'session',
  'agent.execute sessionKey': 'session',
  'agent.start sessionKey': 'session',
  'agent.stream sessionKey': 'session',
  'session.send key': 'session',
  'skills.upload files': 'none',
  'skills.upload files.*.path': 'none',
  'browser.act secret': 'secret',
  'browser.navigate url': 'address',
  'browser.open url': 'address',
  'heartbeat.update session': 'session',
  'obs.billing.bySession sessionKey': 'session',
  'obs.explain sessionKey': 'session',
  'obs.bundle sessionKey': 'session',
  // A recording is a copy; replaying it reads no session.
  'obs.replay recording.sessionKey': 'none',
  'session.history session_key': 'session',
  'session.export session_key': 'session',
  'session.delete session_key': 'session',
  'session.reset session_key': 'session',
  'session.compact key': 'session',
  'session.reset_conversation session_key': 'session',
  'context.tree conversation_id': 'session',
  'cron.add budget.tokens': 'none',
  'cron.update budget.tokens': 'none',
  'tokens.create sessions': 'none',
  'media.transcribe attachment_url': 'address',
  'media.describe_video attachment_url': 'address',
  'media.extract_document attachment_url': 'address',
  'media.test.document file_path': 'path',
  'media.test.vision url': 'address',
  'media.test.video url': 'address',
  'media.test.link url': 'address',
  'skills.import url': 'address',
  'tts.auto_check has_media_url': 'none',
  'env.set key': 'secret',
  'env.set origins': 'address',
};

/** Settings that some service reads and whose name says that they refer to something. */
export function listNamingSettings(): string[] {
  return listSettings()
    .filter(({ path, group }) => !group && !isUnread(path) && isNaming(path))
    .map(({ path }) => path);
}

/** Params of served methods with such a name, as `method param`. Params that are settings are listed as settings. */
export function listNamingParams(): string[] {
  const methods = [...publicMethods.values()].filter((method) => isServed(method) && !SETTING_METHODS.test(method.name));
  return methods.flatMap(({ name, spec }) => {
    const paths = listAlternatives(inputSchema((spec as MethodSpec).params)).flatMap((schema) => listSettings(schema));
    const naming = paths.filter(({ path }) => isNaming(path)).map(({ path }) => `${name} ${path}`);
    return [...new Set(naming)];
  });
}

function listAlternatives(schema: JsonSchema): JsonSchema[] {
  return [schema, ...[schema.anyOf, schema.oneOf, schema.allOf].flatMap((all) => (all ?? []).flatMap(listAlternatives))];
}

function isNaming(path: string): boolean {
  const names = path.split('.').filter((name) => name !== '*');
  const last = names.at(-1) ?? '';
  if (/^max|Tokens$|^profile$|Profile$/.test(last)) return false;
  return NAMING.test(last) || NAMING.test(names.slice(-2).join('.'));
}
