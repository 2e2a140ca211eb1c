export { defineGateway, gateway, type GatewayHooks } from './service.ts';
