/** What is asked of `node-llama-cpp`, as far as it is asked. */
export interface LocalLibrary {
  /** `never`: with what comes with it, and without making anything on this machine. */
  getLlama(options: { gpu: Gpu; logLevel: 'error'; build: 'never'; progressLogs: false }): Promise<Llama>;
  /** The path of a model, which is fetched into the directory unless it is there whole. */
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

/** How it is installed beside the product, by whoever wants it. */
export const INSTALL = `npm install --no-save ${PACKAGE}@3`;

/**
 * Its binaries are for every kind of machine, and too much for those who do not want it: so it is no dependency, and loaded where
 * somebody has installed it. Throws where nobody has.
 */
export async function loadLibrary(): Promise<LocalLibrary> {
  const library = (await import(PACKAGE)) as Partial<LocalLibrary>;
  const { getLlama, resolveModelFile } = library;
  if (getLlama === undefined || resolveModelFile === undefined) throw new Error(`${PACKAGE} is of another version: ${INSTALL}`);
  return { getLlama, resolveModelFile };
}

export function isNotInstalled(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND';
}
