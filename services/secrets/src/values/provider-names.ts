const PROVIDERS: Readonly<Record<string, string>> = {
  OPENAI: 'openai',
  ANTHROPIC: 'anthropic',
  GEMINI: 'google',
  GOOGLE: 'google',
  DEEPSEEK: 'deepseek',
  GROQ: 'groq',
  DISCORD: 'discord',
  TELEGRAM: 'telegram',
  SLACK: 'slack',
  WHATSAPP: 'whatsapp',
};

/** Derives the provider from the prefix of the name; empty for an unknown prefix. */
export function guessProvider(name: string): { provider?: string } {
  const [prefix = ''] = name.split('_', 1);
  return Object.hasOwn(PROVIDERS, prefix) ? { provider: PROVIDERS[prefix] ?? prefix } : {};
}
