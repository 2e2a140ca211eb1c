// Run by mongosh: the replica set, and for each service a user that sees its own database alone; one more for the blobs.
const { readFileSync } = require('node:fs');

const read = (name) => readFileSync(`/run/keys/${name}`, 'utf8').trim();
const server = new Mongo(`mongodb://root:${read('root-password')}@mongo:27017/?directConnection=true&authSource=admin`);
const admin = server.getDB('admin');

try {
  admin.runCommand({ replSetGetStatus: 1 });
} catch (error) {
  if (error.codeName !== 'NotYetInitialized') throw error;
  admin.runCommand({ replSetInitiate: { _id: 'rs0', members: [{ _id: 0, host: 'mongo:27017' }] } });
}
while (!admin.runCommand({ hello: 1 }).isWritablePrimary) sleep(200);

for (const [service, pwd] of Object.entries({ ...JSON.parse(read('users.json')), blobs: read('blobs-password') })) {
  const db = `switchyard_${service}`;
  const roles = ['readWrite', 'dbAdmin'].map((role) => ({ role, db }));
  if (admin.getUser(service) === null) admin.createUser({ user: service, pwd, roles });
  else admin.updateUser(service, { pwd, roles });
}
print('the replica set and its users are there');
