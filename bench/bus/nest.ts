import { natsUrl } from '../baselines/http.ts';
import { requirePeer } from './peers.ts';

type Decorator = (...target: unknown[]) => void;

interface Observable {
  subscribe(observer: { next(value: unknown): void; error(error: unknown): void }): void;
}

interface Microservices {
  MessagePattern(pattern: string): Decorator;
  ClientProxyFactory: { create(options: object): { connect(): Promise<unknown>; send(pattern: string, data: unknown): Observable } };
}

requirePeer('reflect-metadata');
const { MessagePattern, ClientProxyFactory } = requirePeer('@nestjs/microservices') as Microservices;
const { Controller, Module } = requirePeer('@nestjs/common') as Record<'Controller' | 'Module', (options?: object) => Decorator>;
const { NestFactory } = requirePeer('@nestjs/core') as {
  NestFactory: { createMicroservice(module: unknown, options: object): Promise<{ listen(): Promise<unknown> }> };
};

/** `Transport.NATS` of @nestjs/microservices. */
const NATS = 2;
const OPTIONS = { transport: NATS, options: { servers: [natsUrl()] } };

export async function startResponder(): Promise<void> {
  class Secrets {
    resolve({ name }: { name: string }): unknown {
      return { value: name };
    }
  }
  const App = class extends Object {};
  // Node does not run decorator syntax, so decorators are called as functions.
  MessagePattern('resolve')(Secrets.prototype, 'resolve', Object.getOwnPropertyDescriptor(Secrets.prototype, 'resolve'));
  Controller()(Secrets);
  Module({ controllers: [Secrets] })(App);
  await (await NestFactory.createMicroservice(App, { ...OPTIONS, logger: false })).listen();
}

export async function connectCaller(): Promise<(name: string) => Promise<unknown>> {
  const client = ClientProxyFactory.create(OPTIONS);
  await client.connect();
  return (name) => new Promise((resolve, reject) => client.send('resolve', { name }).subscribe({ next: resolve, error: reject }));
}
