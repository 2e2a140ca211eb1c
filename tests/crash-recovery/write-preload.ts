import { registerHooks } from 'node:module';

/*
 * Loaded before the product (`node --import`): wraps the store of the sessions service so that the process dies at a write. The code of
 * the service is unchanged.
 */

const HOST = '/libs/service-kit/src/host/host.ts';
const STORE = new URL('./write-hook.ts', import.meta.url).href;

registerHooks({
  resolve: (specifier, context, next) =>
    next(specifier === '@switchyard/store' && context.parentURL?.endsWith(HOST) === true ? STORE : specifier, context),
});
