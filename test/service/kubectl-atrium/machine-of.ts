import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { Trusting } from '../../support/trusting.ts';
import { Machine } from './machine.ts';

/** A service with the embedded issuer. */
interface Service {
  url: string;
  caFile: string;
}

/** Returns the options with which a command reaches a service. */
export const optionsFor = ({ url, caFile }: Service): string[] => ['--issuer', `${url}/identity`, '--ca-file', caFile, '--no-browser'];

/** Declares the machine of a user, who is logged in at a service. */
export const machineOf = (service: Service, person: { email: string; password: string }): Machine =>
  forSuite(
    async () => {
      const machine = await Machine.create();
      const dispatcher = new Trusting(readFileSync(service.caFile, 'utf8'));
      expect(await machine.logIn(optionsFor(service), { person, dispatcher })).to.include({ code: 0 });
      await dispatcher.close();
      return machine;
    },
    (machine) => machine.remove(),
  );
