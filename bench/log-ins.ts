/**
 * Measures logins a second, end to end with the embedded provider: login, login page, password, callback, a session. The number of
 * passwords that this machine can check a second is printed too: it is the upper bound.
 *
 * Service, provider, cluster and browsers share one process here, so the first number is a lower bound. Run: node bench/log-ins.ts
 */
import { Passwords } from '../src/users/passwords/passwords.ts';
import { startEmbeddedLogin } from '../test/support/embedded-login.ts';

const rounds = 5;
const atOnce = 8;
const password = 'correct horse battery staple';
const emails = Array.from({ length: 40 }, (_, index) => `person${index}@example.com`);

const service = await startEmbeddedLogin({ emails, password });
const logIn = async (email: string) => {
  const { status, body } = await service.logIn(email, password);
  if (status !== 200) throw new Error(`${email}: ${status} ${body}`);
};

await logIn(emails[0] ?? '');
const begun = performance.now();
for (let round = 0; round < rounds; round += 1) {
  const waiting = [...emails];
  const one = async () => {
    for (let email = waiting.pop(); email !== undefined; email = waiting.pop()) await logIn(email);
  };
  await Promise.all(Array.from({ length: atOnce }, one));
}
const perLogIn = (performance.now() - begun) / (emails.length * rounds);

const passwords = new Passwords();
const hash = await passwords.hash(password);
const checks = 100;
const checked = performance.now();
await Promise.all(Array.from({ length: checks }, () => passwords.verify(password, hash)));
const perCheck = (performance.now() - checked) / checks;

console.log(`log-ins, ${atOnce} at once     ${(1000 / perLogIn).toFixed(1).padStart(7)}/s`);
console.log(`password checks alone  ${(1000 / perCheck).toFixed(1).padStart(7)}/s`);
console.log(`share of hashing in a log-in ${((100 * perCheck) / perLogIn).toFixed(0)} %`);
await service.stop();
