// The table of agreement between judges, or repeats of one judge: for the pages of judges and of differences.
"use strict";

(() => {
  const { html, Name } = L;

  function Agreement({ pairs, exam }) {
    const name = (n) => exam.ways[n].name;
    const line = ({ ways: [a, b], both, same, kappa }) => html`<tr>
      <th scope="row"><${Name}>${a === b ? `${name(a)}, repeats` : `${name(a)} and ${name(b)}`}<//></th>
      <td class="number">${L.count(both)}</td>
      <td class="number">${(100 * same).toFixed(1)}%</td>
      <td class="number">${L.number(kappa, 2)}</td>
    </tr>`;
    const help = "Agreement beyond chance: 1 is full agreement, 0 is what chance alone would reach";
    return html`<div class="scroll" tabindex="0" role="region" aria-label="Agreement">
      <table>
        <caption>
          How often two judges agree on criteria that both decided; a judge's mark is the majority of its repeats. Kappa
          is agreement beyond chance: 1 is full agreement, 0 is none.
        </caption>
        <thead>
          <tr>
            <th scope="col">Between</th>
            <th scope="col" class="number">Both decided</th>
            <th scope="col" class="number">Agreement</th>
            <th scope="col" class="number" title=${help}>Cohen's kappa</th>
          </tr>
        </thead>
        <tbody>
          ${pairs.map(line)}
        </tbody>
      </table>
    </div>`;
  }

  Object.assign(L, { Agreement });
})();
