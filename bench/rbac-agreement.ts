/**
 * Compares the answers from watched roles and bindings with those of the API server: 100,000 random questions about random roles, bindings
 * and users, each also sent as a SubjectAccessReview, and as many before and after random changes that are simulated first (SIM-01). Needs
 * the programs of `node test/cluster/build.ts`.
 *
 * TEST_CLUSTER=real node bench/rbac-agreement.ts [--questions 100000] [--rounds 10] [--seed N]
 */
import { parseArgs } from 'node:util';
import { AgreementCheck } from '../test/service/access/agreement.ts';
import { apiServer } from '../test/support/api-server.ts';

const { values: options } = parseArgs({
  options: {
    questions: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
  },
});
const rounds = Number(options.rounds);
const questions = Math.ceil(Number(options.questions) / rounds);

const cluster = await apiServer();
const check = await AgreementCheck.start(cluster);
const total = { asked: 0, allowed: 0, disagreements: 0, forecasts: 0, wrongForecasts: 0, simulated: 0, wrongSimulations: 0 };
const begun = performance.now();
try {
  for (let round = 0; round < rounds; round += 1) {
    const seed = Number(options.seed) + round;
    const { asked, allowed, disagreements, forecasts } = await check.run({ seed, round, questions });
    total.asked += asked;
    total.allowed += allowed;
    total.disagreements += disagreements.length;
    total.forecasts += forecasts.asked;
    total.wrongForecasts += forecasts.wrong;
    console.log(
      `seed ${seed}: ${asked} asked, ${allowed} allowed, ${disagreements.length} disagree; forecasts ${forecasts.asked}, wrong ${forecasts.wrong}`,
    );
    const changed = await check.runChange({ seed: seed + 1_000_000, round: rounds + round, questions });
    total.simulated += changed.asked;
    total.wrongSimulations += changed.disagreements.length;
    console.log(
      `  a change: ${changed.asked} asked twice, ${changed.gained} gained, ${changed.lost} lost, ${changed.disagreements.length} disagree`,
    );
    for (const disagreement of [...disagreements.slice(0, 5), ...changed.disagreements.slice(0, 5)])
      console.log(JSON.stringify(disagreement));
  }
} finally {
  await check.stop();
  await cluster.stop();
}
const seconds = Math.round((performance.now() - begun) / 1000);
console.log(
  `${JSON.stringify(total)} in ${seconds} s, on ${process.env.TEST_CLUSTER === 'real' ? 'kube-apiserver' : 'the embedded cluster'}`,
);
process.exitCode = total.disagreements + total.wrongForecasts + total.wrongSimulations === 0 ? 0 : 1;
