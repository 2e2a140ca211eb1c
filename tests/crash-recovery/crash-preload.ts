import { registerHooks } from 'node:module';

/*
 * Loaded before a service (`node --import`): puts a bus in front of its own that makes the process die where it would tell others of
 * what it has written. The code of the service is the one that is shipped.
 */

const HOST = '/libs/service-kit/src/host/host.ts';
const BUS = new URL('./crash-hook.ts', import.meta.url).href;

registerHooks({
  resolve: (specifier, context, next) =>
    next(specifier === '@switchyard/bus' && context.parentURL?.endsWith(HOST) === true ? BUS : specifier, context),
});
