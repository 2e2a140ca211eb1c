import { connectBus as connect, type Bus, type CallOptions } from '@switchyard/bus';
import { witnessed } from './notes.ts';

export * from '@switchyard/bus';

/** Like the real function, but records calls on behalf of a client. Sessions makes such calls for tools only. */
export const connectBus: typeof connect = async (...inputs) => {
  const bus = await connect(...inputs);
  return withAs(bus, (...who) => witnessing(bus.as(...who)));
};

function withAs(bus: Bus, as: Bus['as']): Bus {
  return new Proxy(bus, { get: (target, name) => (name === 'as' ? as : Reflect.get(target, name)) });
}

function witnessing(bus: Bus): Bus {
  const call = ((name: string, input: unknown, options: CallOptions = {}) =>
    witnessed(
      'call',
      () => bus.call(name as 'session.history', input as object, options),
      () => ({ what: 'call', id: name, input, ...(options.key === undefined ? {} : { key: options.key }) }),
    )) as Bus['call'];
  return new Proxy(bus, { get: (target, name) => (name === 'call' ? call : Reflect.get(target, name)) });
}
