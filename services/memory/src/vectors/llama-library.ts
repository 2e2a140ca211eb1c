/** The part of `node-llama-cpp` that is used. */
export interface LocalLibrary {
  /** `build: 'never'` uses the bundled binaries and compiles nothing. */
  getLlama(options: { gpu: Gpu; logLevel: 'error'; build: 'never'; progressLogs: false }): Promise<Llama>;
  /** Returns the path of a model. Downloads it into the directory unless it is complete. */
  resolveModelFile(uri: string, options: { directory: string; cli: false; signal: AbortSignal }): Promise<string>;
}

export type Gpu = 'auto' | 'metal' | 'cuda' | 'vulkan' | false;

export interface Llama {
  loadModel(options: { modelPath: string; loadSignal: AbortSignal }): Promise<LlamaModel>;
  dispose(): Promise<void>;
}

export interface LlamaModel {
  readonly embeddingVectorSize: number;
  tokenize(text: string): number[];
  createEmbeddingContext(options: { contextSize: number; createSignal: AbortSignal }): Promise<LlamaContext>;
}

export interface LlamaContext {
  getEmbeddingFor(tokens: number[]): Promise<{ readonly vector: readonly number[] }>;
}

const PACKAGE = 'node-llama-cpp';

/** The command that installs the library. */
export const INSTALL = `npm install --no-save ${PACKAGE}@3`;

/**
 * Loads the library if it is installed, else throws. It is not a dependency, because its binaries for all platforms take hundreds of
 * megabytes.
 */
export async function loadLibrary(): Promise<LocalLibrary> {
  const library = (await import(PACKAGE)) as Partial<LocalLibrary>;
  const { getLlama, resolveModelFile } = library;
  if (getLlama === undefined || resolveModelFile === undefined)
    throw new Error(`${PACKAGE} has an unsupported version. Install it with: ${INSTALL}`);
  return { getLlama, resolveModelFile };
}

export function isNotInstalled(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND';
}
