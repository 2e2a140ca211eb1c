import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { ServiceError, type Sections } from '@switchyard/contracts';
import type { Settings } from '@switchyard/service-kit';
import type { VectorModel } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import { INSTALL, isNotInstalled, loadLibrary, type LlamaContext, type LlamaModel, type LocalLibrary } from './llama-library.ts';

type Wanted = Sections['embedding']['local'];

/** A model that makes vectors in this process, where `embedding.provider` is `local` and the library is installed. */
export interface LocalModel extends AsyncDisposable {
  /** Undefined while there is none, or none yet: a model is fetched and loaded in the background. */
  model(): VectorModel | undefined;
  /** One for each text, one after the other. Of a text that is longer than its context it reads the beginning. */
  embed(texts: readonly string[], signal: AbortSignal | undefined): Promise<Float32Array[]>;
}

export interface LocalModelDeps {
  settings: Settings<'embedding'>;
  /** The data directory: models lie below it. */
  data: string;
  log: Pick<Logger, 'info' | 'warn'>;
  load?: () => Promise<LocalLibrary>;
}

interface Loaded {
  name: string;
  model: LlamaModel;
  context: LlamaContext;
  contextSize: number;
  /** One text after the other: each of them uses all cores. */
  last: Promise<unknown>;
}

/** What a context adds to a text, where it begins and ends, and one place that stays free. */
const AROUND = 3;

/** Loads what the settings want, and something else when they want that; of what is not wanted any more all is given back. */
export function createLocalModel({ settings, data, log, load = loadLibrary }: LocalModelDeps): LocalModel {
  let wanted: Wanted | undefined;
  let loaded: Loaded | undefined;
  let ending = new AbortController();
  let changing: Promise<void> = Promise.resolve();
  let free: (() => Promise<void>) | undefined;

  async function change(want: Wanted | undefined, signal: AbortSignal): Promise<void> {
    loaded = undefined;
    await free?.();
    free = undefined;
    if (want === undefined || signal.aborted) return;
    try {
      const { gpu, modelUri, modelsDir, contextSize } = want;
      const library = await load();
      const llama = await library.getLlama({ gpu, logLevel: 'error', build: 'never', progressLogs: false });
      free = () => llama.dispose();
      const modelPath = await library.resolveModelFile(modelUri, { directory: resolve(data, modelsDir), cli: false, signal });
      const model = await llama.loadModel({ modelPath, loadSignal: signal });
      const context = await model.createEmbeddingContext({ contextSize, createSignal: signal });
      if (signal.aborted) return;
      const name = `local/${modelUri}@${model.embeddingVectorSize}`;
      loaded = { name, model, context, contextSize, last: Promise.resolve() };
      log.info({ model: name }, 'vectors are made by a model in this process');
    } catch (err) {
      if (signal.aborted) return;
      const hint = isNotInstalled(err) ? `it needs a library that is not installed: ${INSTALL}` : 'see to embedding.local';
      log.warn({ err, errorKind: 'dependency', hint }, 'embedding.provider is local, but no model is loaded; search is by words only');
    }
  }

  function take(): void {
    const { enabled, provider, local } = settings.current.embedding;
    const want = enabled && provider === 'local' ? local : undefined;
    if (isDeepStrictEqual(want, wanted)) return;
    wanted = want;
    ending.abort();
    const { signal } = (ending = new AbortController());
    changing = changing.then(() => change(want, signal));
  }

  const forget = settings.onChange(take);
  take();

  return {
    model: () => loaded && { name: loaded.name, dimensions: loaded.model.embeddingVectorSize },
    async embed(texts, signal) {
      const vectors: Float32Array[] = [];
      for (const text of texts) {
        const by = loaded;
        if (by === undefined) throw new ServiceError('UNAVAILABLE', 'the local model is not there any more');
        signal?.throwIfAborted();
        const tokens = by.model.tokenize(text).slice(0, by.contextSize - AROUND);
        const made = by.last.then(() => by.context.getEmbeddingFor(tokens));
        by.last = made.catch(() => undefined);
        vectors.push(Float32Array.from((await made).vector));
      }
      return vectors;
    },
    async [Symbol.asyncDispose]() {
      forget();
      wanted = undefined;
      ending.abort();
      await changing;
      loaded = undefined;
      await free?.();
    },
  };
}
