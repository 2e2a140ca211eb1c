import {
  AgentConfig,
  describeIssues,
  INSTALLATION_SECRET_SETTINGS,
  invalidParams,
  isOperatorOnly,
  ServiceError,
  writtenPaths,
} from '@switchyard/contracts';
import { resolveAgentModel, type Models } from '@switchyard/models';
import { checkReferences } from '../config/check-references.ts';
import { resolveReferences, type ConfigurationSource, type SecretReader, type Tree, type Variables } from '@switchyard/service-kit';

const PROBE_TIMEOUT_MS = 5_000;

export interface CheckPatchDeps {
  models: Models;
  secret: SecretReader;
  configuration: Pick<ConfigurationSource, 'current' | 'pinned'>;
  env: Variables;
}

export interface PatchToCheck {
  tenant: string;
  agentId: string;
  /** The requested change. */
  patch: Tree;
  /** The agent after the change. */
  preview: Tree;
  /** The stored layer before the change. */
  stored?: Tree;
}

/** Returns all errors of a change, in the order in which a user would fix them. Empty if it may be written. */
export async function checkPatch(
  deps: CheckPatchDeps,
  { tenant, agentId, patch, preview, stored = {} }: PatchToCheck,
): Promise<ServiceError[]> {
  const pathErrors = writtenPaths(patch, `agents.${agentId}`).flatMap((path) => checkPath(deps, tenant, path));
  if (pathErrors.length > 0) return pathErrors;
  const referenceErrors = checkReferences(deps.configuration.current.config, stored, patch);
  if (referenceErrors.length > 0) return referenceErrors;
  const parsed = AgentConfig.safeParse(preview, { reportInput: true });
  if (!parsed.success) return [invalidParams(describeIssues(parsed.error))];
  const resolved = AgentConfig.safeParse(resolveReferences(parsed.data, deps.env), { reportInput: true });
  if (!resolved.success) return [invalidParams(describeIssues(resolved.error))];
  return checkAnswers(deps, patch, resolved.data);
}

/** Checks that the agent's models and profiles work. Only the keys of `patch` are checked. */
export async function checkAnswers(
  deps: Pick<CheckPatchDeps, 'models' | 'secret'>,
  patch: Tree,
  resolved: AgentConfig,
): Promise<ServiceError[]> {
  return [...(await checkModel(deps, patch, resolved)), ...(await checkProfiles(deps, patch, resolved))];
}

function checkPath({ configuration }: CheckPatchDeps, tenant: string, path: string): ServiceError[] {
  if (isOperatorOnly(path)) return [preconditionError('IMMUTABLE', `${path} can only be changed in a file`)];
  if (tenant !== configuration.current.tenantId) return namesSecret(path) ? [otherTenantError(path)] : [];
  const pin = configuration.pinned().find((one) => isWithin(path, one.path) || isWithin(one.path, path));
  return pin === undefined ? [] : [preconditionError('PINNED', `${path} is set by the environment variable ${pin.variable}`)];
}

function namesSecret(path: string): boolean {
  const [, , ...keys] = path.split('.');
  const setting = keys.join('.');
  return INSTALLATION_SECRET_SETTINGS.some((one) => isWithin(setting, one) || isWithin(one, setting));
}

function otherTenantError(path: string): ServiceError {
  const message = `${path} names secrets of the installation. Only its own tenant may set it.`;
  return new ServiceError('PERMISSION_DENIED', message, { details: { reason: 'OTHER_TENANT' } });
}

function isWithin(path: string, above: string): boolean {
  return path === above || path.startsWith(`${above}.`);
}

/** Provider and model must be available, and a new provider must accept its key. */
async function checkModel(
  { models }: Pick<CheckPatchDeps, 'models'>,
  patch: Tree,
  { provider, model, modelRoutes }: AgentConfig,
): Promise<ServiceError[]> {
  const changed = ['provider', 'model', 'modelRoutes'].some((key) => patch[key] !== undefined);
  if (!changed || (provider === 'default' && model === 'default' && modelRoutes.default === undefined)) return [];
  if (provider !== 'default' && !(await models.providers()).includes(provider)) {
    return [preconditionError('PROVIDER_NOT_FOUND', `provider: ${provider} is not available: it is not configured, or its key is not set`)];
  }
  const ref = await resolveAgentModel(models, { provider, model, modelRoutes });
  if (ref === undefined)
    return [
      preconditionError(
        'MODEL_NOT_FOUND',
        `model: no available provider has ${model === 'default' ? (modelRoutes.default ?? model) : model}`,
      ),
    ];
  return patch['provider'] === undefined || ref.provider === 'dev' ? [] : probe(models, ref);
}

/** Requests one token. Only a rejected key is an error, because an unreachable provider may recover. */
async function probe(models: Models, model: { provider: string; modelId: string }): Promise<ServiceError[]> {
  const { signal } = new AbortController();
  try {
    const parts = models.stream({
      model,
      messages: [{ role: 'user', text: 'ping' }],
      maxTokens: 1,
      signal,
      promptTimeoutMs: PROBE_TIMEOUT_MS,
    });
    for await (const part of parts) if (part.type === 'text') break;
  } catch (error) {
    if (error instanceof ServiceError && error.details.reason === 'PROVIDER_AUTH')
      return [preconditionError('PROVIDER_AUTH', `provider: ${error.message}`)];
  }
  return [];
}

async function checkProfiles(
  { secret }: Pick<CheckPatchDeps, 'secret'>,
  patch: Tree,
  { modelFailover }: AgentConfig,
): Promise<ServiceError[]> {
  if (patch['modelFailover'] === undefined) return [];
  const names = modelFailover.authProfiles.map(({ keyName }) => keyName);
  const missing = await Promise.all(names.map(async (name) => await isMissing(secret, name)));
  return names
    .filter((_, index) => missing[index])
    .map((name) => preconditionError('SECRET_NOT_FOUND', `modelFailover.authProfiles: the secret ${name} is not set`));
}

/** A secret of another purpose counts as missing, so that the answer does not reveal which secrets exist. */
async function isMissing(secret: CheckPatchDeps['secret'], name: string): Promise<boolean> {
  try {
    return (await secret(name, undefined, 'provider')) === null;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'PERMISSION_DENIED') return true;
    throw error;
  }
}

function preconditionError(reason: string, message: string): ServiceError {
  return new ServiceError('FAILED_PRECONDITION', message, { details: { reason } });
}
