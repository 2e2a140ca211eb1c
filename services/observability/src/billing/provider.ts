/** Returns the provider of `provider/model`; `unknown` for calls whose model is unknown. */
export function getProvider(model: string): string {
  return model === '' ? 'unknown' : (model.split('/', 1)[0] ?? model);
}
