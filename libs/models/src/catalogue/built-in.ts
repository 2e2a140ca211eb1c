/** A provider that is available as soon as its key is set. */
export interface BuiltIn {
  baseUrl: string;
  keyName: string;
  /** Whether the provider has embeddings. */
  embeds?: true;
}

/** Built-in providers. The order decides the default model. */
export const BUILT_IN: Readonly<Record<string, BuiltIn>> = {
  openai: { baseUrl: 'https://api.openai.com/v1', keyName: 'OPENAI_API_KEY', embeds: true },
  anthropic: { baseUrl: 'https://api.anthropic.com/v1', keyName: 'ANTHROPIC_API_KEY' },
  google: { baseUrl: 'https://generativelanguage.googleapis.com/v1beta', keyName: 'GEMINI_API_KEY', embeds: true },
  deepseek: { baseUrl: 'https://api.deepseek.com/v1', keyName: 'DEEPSEEK_API_KEY' },
  groq: { baseUrl: 'https://api.groq.com/openai/v1', keyName: 'GROQ_API_KEY' },
};
