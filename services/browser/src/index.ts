export { browser } from './service.ts';
