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

/** Whose secret it is, as its name begins; nothing where that says nothing. */
export function providerOf(name: string): { provider?: string } {
  const [prefix = ''] = name.split('_', 1);
  return Object.hasOwn(PROVIDERS, prefix) ? { provider: PROVIDERS[prefix] ?? prefix } : {};
}
