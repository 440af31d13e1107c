//! The loop of `capsched top`: draw, wait for a key or for time to pass.
//!
//! Three threads: the caller draws and takes keys, one plays the run, and one works out an answer.

use std::io::IsTerminal;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, Scope};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use capsched::api::ApplicationId;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};

use super::model::{Model, Question};
use super::{Scenes, Shown, keys, view};
use crate::live;
use crate::moments::Film;
use crate::why::{text_at, text_of_server};

/// Time between two pictures while the run plays.
const TICK: Duration = Duration::from_millis(200);

/// What a thread found out.
enum Found {
    /// The answer about an application.
    Answer(ApplicationId, String),
    /// Why the run cannot be played on.
    Failure(String),
}

/// Shows the run until a key ends it.
pub(super) fn run(shown: &Shown, at_ms: Option<u64>) -> Result<()> {
    if !std::io::stdout().is_terminal() {
        bail!(
            "standard output is no terminal; `capsched top RUN --print` or `--json` write one moment"
        );
    }
    let film = Film::default();
    let (send, receive) = mpsc::channel();
    thread::scope(|scope| {
        let played = send.clone();
        scope.spawn(|| record(shown, &film, played));
        let mut terminal = ratatui::try_init().context("the terminal")?;
        let mut model = Model::new(shown.about(), &film);
        model.play();
        if let Some(at_ms) = at_ms {
            wait_for(&film, at_ms);
            model.go_to(at_ms);
            model.play();
        }
        let ended = drive(
            (scope, shown),
            (&mut terminal, &mut model),
            (&send, &receive),
        );
        ratatui::restore();
        ended.context("the terminal")?;
        if !film.is_over() {
            // Nothing is written, so that nothing is lost; the run would be played to its end first.
            std::process::exit(0);
        }
        Ok(())
    })
}

/// Waits until the run has come to a moment.
fn wait_for(film: &Film, at_ms: u64) {
    let come = || film.at(u64::MAX).is_some_and(|last| last.at_ms >= at_ms);
    while !come() && !film.is_over() {
        thread::sleep(TICK);
    }
}

fn record(shown: &Shown, film: &Film, send: Sender<Found>) {
    let played = match &shown.scenes {
        Scenes::Run(_) => shown.record(film, None),
        Scenes::Server(server) => live::watch(server, film),
    };
    if let Err(error) = played {
        // The receiver lives as long as this thread.
        let _ = send.send(Found::Failure(format!("{error:#}")));
        film.end();
    }
}

/// Draws and takes keys until one ends it.
fn drive<'scope, 'env>(
    (scope, shown): (&'scope Scope<'scope, 'env>, &'env Shown),
    (terminal, model): (&mut DefaultTerminal, &mut Model<'env>),
    (send, receive): (&Sender<Found>, &Receiver<Found>),
) -> std::io::Result<()> {
    while !model.is_over() {
        terminal.draw(|frame| view::draw(frame, model))?;
        for found in receive.try_iter() {
            match found {
                Found::Answer(app, text) => model.answer(app, &text),
                Found::Failure(why) => model.fail(why),
            }
        }
        if !event::poll(TICK)? {
            model.tick();
            continue;
        }
        if let Event::Key(key) = event::read()?
            && key.kind == KeyEventKind::Press
        {
            keys::press(model, key);
        }
        if let Some(question) = model.take_question() {
            let send = send.clone();
            scope.spawn(move || answer(shown, &question, &send));
        }
    }
    Ok(())
}

fn answer(shown: &Shown, question: &Question, send: &Sender<Found>) {
    let text = match &shown.scenes {
        Scenes::Run(stage) => text_at(stage, &question.job, question.at_ms),
        Scenes::Server(server) => text_of_server(server, &question.job),
    };
    let text = text.unwrap_or_else(|error| format!("error: {error:#}"));
    // Nobody waits for it once the screen is closed.
    let _ = send.send(Found::Answer(question.job.app, text));
}
