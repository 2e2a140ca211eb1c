export type * from './bus.ts';
export type * from './transport.ts';
