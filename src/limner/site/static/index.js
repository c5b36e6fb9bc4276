// The first page: what exams there are, and who leads.
"use strict";

(() => {
  const { html, Name, Score } = L;

  const SHOWN = 3;

  // The best painters by the score that the exam's table is ordered by; controls only where there is nobody else.
  function best(way, score, exam) {
    const height = (row) => L.sortable(L.compared(exam, row), score) ?? -1;
    const able = way.rows.filter((row) => !exam.painters[row.p].control);
    const rows = able.length ? able : way.rows;
    return rows.slice().sort((a, b) => height(b) - height(a)).slice(0, SHOWN); // prettier-ignore
  }

  function Leaders({ exam, way, score, home }) {
    const line = (row) => {
      const painter = exam.painters[row.p];
      return html`<tr>
        <th scope="row">
          <a href=${`${home}painter.html${L.address({ p: painter.key })}`}><${Name}>${painter.row}<//></a>
        </th>
        <td class="number"><${Score} view=${L.compared(exam, row)} score=${score} whisker /></td>
      </tr>`;
    };
    return html`<table class="mini">
      <caption>
        ${L.words(score.name)} · judge <${Name}>${way.name}<//> · reading ${exam.reading}
      </caption>
      <tbody>
        ${best(way, score, exam).map(line)}
      </tbody>
    </table>`;
  }

  function Card({ exam }) {
    const way = exam.ways.find((found) => found.lead) || exam.ways[0];
    const score = way && exam.scores.find((found) => found.name === way.lead);
    const home = `exams/${exam.slug}/`;
    const { questions, drawings, differences, failures } = exam.counts;
    const counts = [
      L.many(questions, "question"),
      L.many(exam.painters.length, "painter"),
      L.many(drawings, "drawing"),
    ];
    const links = [
      ["index", "Leaderboard"],
      ["questions", "Questions"],
      ["gallery", "Gallery"],
    ];
    if (differences) links.push(["differences", L.many(differences, "difference")]);
    if (failures) links.push(["failures", L.many(failures, "failure")]);
    return html`<article class="card">
      <h2>
        <a href=${`${home}index.html`}><${Name}>${exam.name}<//></a>
      </h2>
      <p class="soft">${exam.title}</p>
      <p>${counts.join(" · ")}</p>
      ${score
        ? html`<${Leaders} exam=${exam} way=${way} score=${score} home=${home} />`
        : html`<p class="soft">${exam.ways.length ? "No score is known yet." : "Nothing is marked yet."}</p>`}
      <ul class="links">
        ${links.map(([page, name]) => html`<li><a href=${`${home}${page}.html`}>${name}</a></li>`)}
      </ul>
    </article>`;
  }

  function Page({ data: [[site]] }) {
    return html`<h1>Exams</h1>
      <p class="lead">
        Can they draw what a textbook would show, and draw it right? Choose an exam for its leaderboard, its painters,
        and every question with all drawings and marks.
      </p>
      <div class="cards">${site.exams.map((exam) => html`<${Card} exam=${exam} />`)}</div>`;
  }

  L.show(Page, "site");
})();
