import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { ServiceError, type Sections } from '@switchyard/contracts';
import type { Settings } from '@switchyard/service-kit';
import type { VectorModel } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import { INSTALL, isNotInstalled, loadLibrary, type LlamaContext, type LlamaModel, type LocalLibrary } from './llama-library.ts';

type LocalSettings = Sections['embedding']['local'];

/** An embedding model in this process, if `embedding.provider` is `local` and the library is installed. */
export interface LocalModel extends AsyncDisposable {
  /** Undefined until a model is loaded. Models are downloaded and loaded in the background. */
  model(): VectorModel | undefined;
  /** Embeds texts sequentially. A text longer than the context is truncated. */
  embed(texts: readonly string[], signal: AbortSignal | undefined): Promise<Float32Array[]>;
}

export interface LocalModelDeps {
  settings: Settings<'embedding'>;
  /** The data directory, which contains the models. */
  data: string;
  log: Pick<Logger, 'info' | 'warn'>;
  load?: () => Promise<LocalLibrary>;
}

interface Loaded {
  name: string;
  model: LlamaModel;
  context: LlamaContext;
  contextSize: number;
  /** Texts are embedded sequentially, because each uses all cores. */
  queue: Promise<unknown>;
}

/** Tokens that a context adds at the beginning and the end, plus one spare token. */
const RESERVED_TOKENS = 3;

/** Loads the configured model, replaces it when the settings change, and frees the previous one. */
export function createLocalModel({ settings, data, log, load = loadLibrary }: LocalModelDeps): LocalModel {
  let configured: LocalSettings | undefined;
  let loaded: Loaded | undefined;
  let ending = new AbortController();
  let changing: Promise<void> = Promise.resolve();
  let freeModel: (() => Promise<void>) | undefined;

  async function change(settingsToLoad: LocalSettings | undefined, signal: AbortSignal): Promise<void> {
    loaded = undefined;
    await freeModel?.();
    freeModel = undefined;
    if (settingsToLoad === undefined || signal.aborted) return;
    try {
      const { gpu, modelUri, modelsDir, contextSize } = settingsToLoad;
      const library = await load();
      const llama = await library.getLlama({ gpu, logLevel: 'error', build: 'never', progressLogs: false });
      freeModel = () => llama.dispose();
      const modelPath = await library.resolveModelFile(modelUri, { directory: resolve(data, modelsDir), cli: false, signal });
      const model = await llama.loadModel({ modelPath, loadSignal: signal });
      const context = await model.createEmbeddingContext({ contextSize, createSignal: signal });
      if (signal.aborted) return;
      const name = `local/${modelUri}@${model.embeddingVectorSize}`;
      loaded = { name, model, context, contextSize, queue: Promise.resolve() };
      log.info({ model: name }, 'loaded the local embedding model');
    } catch (err) {
      if (signal.aborted) return;
      const hint = isNotInstalled(err) ? `install the library: ${INSTALL}` : 'check embedding.local';
      log.warn({ err, errorKind: 'dependency', hint }, 'embedding.provider is local, but no model is loaded; search is by words only');
    }
  }

  function applySettings(): void {
    const { enabled, provider, local } = settings.current.embedding;
    const settingsToLoad = enabled && provider === 'local' ? local : undefined;
    if (isDeepStrictEqual(settingsToLoad, configured)) return;
    configured = settingsToLoad;
    ending.abort();
    const { signal } = (ending = new AbortController());
    changing = changing.then(() => change(settingsToLoad, signal));
  }

  const unfollow = settings.onChange(applySettings);
  applySettings();

  return {
    model: () => loaded && { name: loaded.name, dimensions: loaded.model.embeddingVectorSize },
    async embed(texts, signal) {
      const vectors: Float32Array[] = [];
      for (const text of texts) {
        const current = loaded;
        if (current === undefined) throw new ServiceError('UNAVAILABLE', 'the local model was unloaded');
        signal?.throwIfAborted();
        const tokens = current.model.tokenize(text).slice(0, current.contextSize - RESERVED_TOKENS);
        const embedding = current.queue.then(() => current.context.getEmbeddingFor(tokens));
        current.queue = embedding.catch(() => undefined);
        vectors.push(Float32Array.from((await embedding).vector));
      }
      return vectors;
    },
    async [Symbol.asyncDispose]() {
      unfollow();
      configured = undefined;
      ending.abort();
      await changing;
      loaded = undefined;
      await freeModel?.();
    },
  };
}
