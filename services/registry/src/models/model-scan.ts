import { resolveAgentModel, type ModelRef, type Models } from '@switchyard/models';
import type { Settings } from '@switchyard/service-kit';
import type { Logger } from '@switchyard/telemetry';
import type { Agents } from '../agents/agents.ts';
import type { Validated } from './validated-models.ts';

const AT_ONCE = 4;

interface Given {
  agents: Pick<Agents, 'all'>;
  models: Models;
  settings: Settings<'models'>;
  validated: Validated;
  log: Pick<Logger, 'info' | 'warn'>;
}

/**
 * With `models.scanOnStartup`: sends a tiny request to each model that an agent uses, including its fallback models, within
 * `models.scanTimeoutMs`. Other models of the catalogue are skipped to save cost. Runs in the background.
 */
export function startScan(given: Given): AsyncDisposable {
  const { scanOnStartup, scanTimeoutMs } = given.settings.current.models;
  const stop = new AbortController();
  const late = AbortSignal.any([stop.signal, AbortSignal.timeout(scanTimeoutMs)]);
  const scanning = scanOnStartup
    ? scan(given, late).catch((err: unknown) => {
        given.log.warn({ err, errorKind: 'dependency', hint: 'use models.test for a single model' }, 'failed to test the models of agents');
      })
    : undefined;
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await scanning;
    },
  };
}

async function scan({ agents, models, validated, log }: Given, signal: AbortSignal): Promise<void> {
  const left = await modelsOf(await agents.all(), models);
  const [answered, silent]: string[][] = [[], []];
  const next = async (): Promise<void> => {
    for (let model = left.shift(); model && !signal.aborted; model = left.shift()) {
      const outcome = await untilAborted(validated.test(models, model), signal);
      if (outcome) (outcome.ok ? answered : silent)?.push(nameOf(model));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
  log.info({ answered, silent, notAsked: left.map(nameOf) }, 'the models of agents were tested');
}

/** The distinct models of the agents. Models that cannot be resolved are skipped. */
async function modelsOf(agents: Awaited<ReturnType<Agents['all']>>, models: Models): Promise<ModelRef[]> {
  const all = new Map<string, ModelRef>();
  for (const { config } of agents) {
    const own = await resolveAgentModel(models, config).catch(() => undefined);
    for (const model of [...(own ? [own] : []), ...config.modelFailover.fallbackModels]) all.set(nameOf(model), model);
  }
  return [...all.values()];
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  if (signal.aborted) return Promise.resolve(undefined);
  const { promise, resolve } = Promise.withResolvers<undefined>();
  signal.addEventListener('abort', () => resolve(undefined), { once: true });
  return Promise.race([work, promise]);
}

function nameOf({ provider, modelId }: ModelRef): string {
  return `${provider}/${modelId}`;
}
